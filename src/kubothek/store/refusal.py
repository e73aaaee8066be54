"""What an error of a conditional write says: the race is lost, the store refused, or nobody knows.

``obstore`` tries again by itself after a server error, and says in its message that it did. From then on no refusal is
sure any more: the first try may have been carried out. Its messages tell besides what the server answered at last:

::

    … Error performing PUT <address> in 3ms, after 2 retries, …  - Server returned non-2xx status code: 403 …
                                             └ repeated            └ answer

What cannot be understood is in doubt.
"""

from __future__ import annotations

import re
from typing import Any, Literal

Verdict = Literal["lost", "refused", "doubtful"]

_ANSWER = re.compile(
    r"Error performing [A-Z]+ \S+ in \S+?(?P<repeated>, after \d+ retries\b[^-]*)? +- (?P<answer>.*)", re.DOTALL
)
_REFUSAL = re.compile(
    r"Server returned non-2xx status code: (?:3\d\d|4(?!08|09|12|29)\d\d)\b(?!.*RequestTimeout)"
    r"|Received redirect without LOCATION|HTTP error: builder error",
    re.DOTALL,
)
# Asked for before the request itself is sent.
_NO_CREDENTIALS = "Error performing token request"
# Answers with the status of a lost race (404, 409, 412) that no other writer is to blame for.
_NO_RACE = re.compile(
    r"<Code>(?:NoSuchBucket|Container(?:NotFound|BeingDeleted|BeingDisabled|Disabled)|AccountBeingCreated"
    r"|BlobImmutableDueToPolicy|LeaseIdMissing|LeaseIdMismatchWithBlobOperation|LeaseLost)<"
)


_SURE = re.compile(r"Server returned non-2xx status code: (?:404|412|409\b.*<Code>BlobAlreadyExists<)", re.DOTALL)


def is_repeated(error: Exception) -> bool:
    """Tell whether a request that lost its race may have been sent more than once, or still be under way.

    S3 answers 409 while another request for the same object is under way; Azure where a blob exists, too.
    """
    found = _ANSWER.search(str(error))
    return found is None or found["repeated"] is not None or _SURE.match(found["answer"]) is None


def no_bucket(error: Exception) -> bool:
    """Tell whether not the object is absent, but what it should be in."""
    return isinstance(error, FileNotFoundError) and _NO_RACE.search(str(error)) is not None


def verdict(error: Exception, failures: Any, *, replacing: bool) -> Verdict:
    """Judge the error that a conditional write ended in.

    Parameters
    ----------
    error
        As ``obstore`` raised it.
    failures
        The module ``obstore.exceptions``.
    replacing
        Whether an object was to be replaced, which an absent object makes impossible; else created.

    Examples
    --------
    >>> import obstore.exceptions as failures
    >>> verdict(TimeoutError(), failures, replacing=True), verdict(PermissionError(), failures, replacing=True)
    ('doubtful', 'refused')
    """
    text = str(error)
    found = _ANSWER.search(text)
    refused: Verdict = "doubtful" if found and found["repeated"] else "refused"
    if _NO_RACE.search(text) or _NO_CREDENTIALS in text:
        return refused
    if isinstance(error, failures.AlreadyExistsError | failures.PreconditionError):
        return "lost"
    if isinstance(error, FileNotFoundError) and replacing:
        return "lost"
    if isinstance(error, failures.GenericError | failures.JoinError | TimeoutError | ConnectionError):
        return refused if found and _REFUSAL.match(found["answer"]) else "doubtful"
    return refused
