"""What a read on a server of Connect will take: what a classic session is asked, too."""

from tests.spark.test_explain import test_tasks_are_foretold
