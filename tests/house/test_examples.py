"""The demo's tree is readable and holds what the demo asks for."""

from pathlib import Path

import pytest

from examples.conversation import story
from examples.demo import PLACES, QUESTIONS, TREE, Question
from examples.serving import zip_of_folder

FILES = sorted(
    path for path in TREE.rglob("*") if path.is_file() and "__pycache__" not in path.parts
)


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.relative_to(TREE).as_posix())
def test_every_file_is_text_that_says_something(path: Path) -> None:
    text = path.read_bytes().decode("utf-8")
    assert text.strip()
    assert text.endswith("\n")


def test_it_is_small_and_speaks_two_languages() -> None:
    assert 25 <= len(FILES) <= 45
    chinese = [path for path in FILES if any("\u4e00" <= c <= "\u9fff" for c in path.stem)]
    assert len(chinese) >= 5


@pytest.mark.parametrize("question", QUESTIONS, ids=lambda question: question.kind)
def test_the_answer_of_every_question_is_in_the_tree(question: Question) -> None:
    places = {
        f"{place.removeprefix('viking://').removeprefix('~/')}/{path.relative_to(TREE / name).as_posix()}"
        for name, place in PLACES.items()
        for path in (TREE / name).rglob("*")
    }
    assert question.expected in places


def test_every_skill_has_a_name_and_a_description() -> None:
    skills = [folder / "SKILL.md" for folder in (TREE / "skills").iterdir() if folder.is_dir()]
    for skill in skills:
        head = skill.read_text(encoding="utf-8").split("---")[1]
        assert f"name: {skill.parent.name}\n" in head
        assert "description: " in head


def test_an_upload_holds_the_names_as_they_are() -> None:
    assert "中文资料/发布流程.md".encode() in zip_of_folder(TREE / "resources")


def test_the_conversation_has_twelve_messages_in_two_languages() -> None:
    messages, questions = story()
    said = [message["content"] for message in messages]
    chinese = [text for text in said if any("\u4e00" <= c <= "\u9fff" for c in text)]
    assert len(said) == 12
    assert 4 <= len(chinese) <= 8
    assert [message["role"] for message in messages] == ["user", "assistant"] * 6
    assert [question.query for question in questions] == ["how do we undo it?", "那怎么回滚？"]
    assert all((TREE / "resources" / question.expected).is_file() for question in questions)
