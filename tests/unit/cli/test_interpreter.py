import gc
import sys

from contextfind.cli.interpreter import leave_alone_what_is_there, tuned_interpreter


def test_a_server_changes_threads_quickly_and_leaves_no_trace() -> None:
    seconds, thresholds = sys.getswitchinterval(), gc.get_threshold()
    with tuned_interpreter():
        assert sys.getswitchinterval() < seconds
        assert gc.get_threshold()[0] > thresholds[0]
        leave_alone_what_is_there()
        assert gc.get_freeze_count() > 10_000
        assert len(gc.get_objects()) < 10_000  # that is all that a collection looks through
    assert (sys.getswitchinterval(), gc.get_threshold()) == (seconds, thresholds)
    assert gc.get_freeze_count() == 0
