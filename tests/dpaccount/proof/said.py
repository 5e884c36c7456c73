"""What tests of rules say of what does not follow: it is refused in a sentence."""

import pytest

from dpaccount.errors import RuleError


def refuses(rule, *arguments, match=None, **named):
    with pytest.raises(RuleError, match=match):
        rule(*arguments, **named)
