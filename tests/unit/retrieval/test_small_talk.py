import pytest

from contextfind.retrieval.small_talk import is_small_talk


@pytest.mark.parametrize(
    "message",
    [
        *("hi", "Hello!", "hey there", "Good morning, everyone", "thanks!", "Thank you so much 🙏"),
        *("ok thanks a lot!", "great, thanks for your help", "got it", "sounds good", "haha", "bye bye"),
        *("you’re welcome", "How are you doing today?", "👍", "…", "good", "okay."),
        *("你好", "您好！", "谢谢", "非常感谢！", "谢谢大家", "好的", "好的，谢谢你", "辛苦了", "我知道了", "嗯嗯"),
        *("收到，明白", "早上好", "没问题", "再见", "太好了", "好的 thanks"),
    ],
)  # fmt: skip
def test_greetings_thanks_and_nods_are_small_talk(message):
    assert is_small_talk(message)


@pytest.mark.parametrize(
    "message",
    [
        *("hi rollback", "hello world", "thanks to whom?", "good runbooks", "yes", "no", "go ahead"),
        *("how do we undo it?", "why?", "it", "all", "there", "very", "ok, and then?", "hiking", "k8s"),
        *("好的，那怎么回滚？", "谢谢，还有呢", "你的", "大家", "很", "知道回滚步骤", "了解 Atlas", "可以", "7"),
        "thanks " * 20,
    ],
)  # fmt: skip
def test_whatever_says_more_is_none(message):
    assert not is_small_talk(message)


@pytest.mark.parametrize("piece", ["好的", "哈", "ha", "谢谢你", "thanks so much ", "ok "])
def test_no_text_takes_more_than_one_pass(piece):
    assert not is_small_talk((piece * 80)[:79] + "x")
