# SPDX-FileCopyrightText: 2026 The enbloc authors
# SPDX-License-Identifier: Apache-2.0
# ruff: noqa: N818  # these are named as Kubernetes names its reasons
"""The errors of requests to the API server, by HTTP status.

::

    APIError
    ├── NotFound            404
    ├── Conflict            409: precondition, resourceVersion, field manager; 422: UID
    │   └── AlreadyExists   409 with reason AlreadyExists
    ├── Forbidden           403
    ├── Unauthorized        401
    ├── Invalid             400, 415, 422
    ├── TooManyRequests     429
    ├── Gone                410
    ├── ServerError         5xx                                        outcome unknown
    ├── Unreachable         refused, reset, timed out, unreadable      outcome unknown if sent
    │   └── TooLong         the answer exceeds the limit, or takes too long to arrive
    └── Fenced              not sent: this process may no longer write
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, Final, TypeVar

from enbloc.client.decoding import UNREADABLE, decoded, why
from enbloc.errors import EnblocError
from enbloc.model.credentials import without_credentials
from enbloc.model.names import API_GROUP
from enbloc.model.text import clipped, printable

#: The longest wait after a 429 (seconds).
LONGEST_WAIT: Final = 30.0
#: The longest part of a server's message that is kept (characters).
MESSAGE_LENGTH: Final = 4096
#: The longest wait that is shown as the server's (seconds): a year.
LONGEST_ASKED: Final = 366.0 * 86400

#: The longest part of an error's message that is kept (characters).
MOST_SAID: Final = 2048

#: What the message of a denial by a webhook or a policy contains. Source: kube-apiserver v1.36
#: staging/src/k8s.io/apiserver/pkg/admission/plugin webhook/errors/statuserror.go ToStatusErr and
#: policy/validating/dispatcher.go Dispatch.
_DENIED: Final = ("denied the request", "denied request")

S = TypeVar("S")
T = TypeVar("T")


class APIError(EnblocError):
    """A request to the API server did not succeed.

    Attributes:
        verb: the API verb ("get", "create", "watch", …).
        resource: what was asked for, as RBAC spells it ("pods/binding", "podgroups.enbloc.dev").
        message: the server's message, escaped and cut, or what went wrong on the way.
        code: the HTTP status; 0 when no answer came.
        reason: the Status' reason ("NotFound", "AlreadyExists", …), maybe empty.
        details: the Status' details (causes, retryAfterSeconds, …), maybe empty.
        retry_after: seconds that a 429 or 5xx asks to wait; 0 = it asks for no wait.
    """

    #: Whether the request may have taken effect although it did not succeed.
    outcome_unknown: ClassVar[bool] = False

    def __init__(
        self,
        verb: str,
        resource: str,
        message: str,
        *,
        code: int = 0,
        reason: str = "",
        details: Mapping[str, Any] | None = None,
        retry_after: float = 0.0,
    ) -> None:
        # From a server, a webhook or a proxy: made one printable line without credentials.
        message = clipped(printable(without_credentials(message)), MOST_SAID)
        super().__init__(message)
        self.verb = verb
        self.resource = resource
        self.message = message
        self.code = code
        self.reason = reason
        self.details: Mapping[str, Any] = details or {}
        self.retry_after = retry_after

    def __str__(self) -> str:
        status = " ".join(filter(None, (str(self.code or ""), self.reason)))
        return f"cannot {self.verb} {self.resource}: " + ": ".join(
            filter(None, (status, self.message))
        )

    @property
    def advice(self) -> str:
        """The problem in one line for the operator of enbloc, with the fix if one is known."""
        return str(self)

    def has_cause(self, reason: str) -> bool:
        """Whether the Status names this cause in details.causes[].reason."""
        return any(cause.get("reason") == reason for cause in self.causes)

    @property
    def causes(self) -> Sequence[Mapping[str, Any]]:
        """The readable entries of details.causes."""
        given = self.details.get("causes")
        return [each for each in given if isinstance(each, dict)] if isinstance(given, list) else []

    @property
    def may_have_landed(self) -> bool:
        """Whether the request may take effect although it did not succeed.

        A missing resource and a code that is not in this module may be a proxy's answer, which may
        have forwarded the request.
        """
        if self.denied:
            return False
        return self.outcome_unknown or self.resource_missing or type(self) is APIError

    @property
    def resource_missing(self) -> bool:
        """Whether it is a 404 that names no object.

        The server does not serve the resource at all (no CustomResourceDefinition), or the answer
        is a proxy's.
        """
        named = self.details.get("name") or self.details.get("kind")
        return isinstance(self, NotFound) and not named

    @property
    def denied(self) -> bool:
        """Whether a webhook or a policy denied it, which chooses any code: it had no effect.

        Many webhooks use 429, so that `kubectl drain` tries again.
        """
        return any(words in self.message for words in _DENIED)

    @property
    def of_one_object(self) -> bool:
        """Whether this object is refused, by its schema, by admission or for its length.

        Others of its kind may be accepted: a quota applies to one namespace.
        """
        if isinstance(self, Forbidden):
            return self.denied or " quota" in self.message  # else RBAC refuses it
        return self.denied or isinstance(self, Invalid) or self.code == 413

    @property
    def server_away(self) -> bool:
        """Whether no connection to the server was made, so that every request now fails alike."""
        return isinstance(self, Unreachable) and not self.sent

    @property
    def namespace_terminating(self) -> bool:
        """Whether it was refused because its namespace is being deleted."""
        return self.has_cause("NamespaceTerminating")

    @property
    def kind_terminating(self) -> bool:
        """Whether it was refused because its CustomResourceDefinition is being deleted.

        The server says so only in the message: kube-apiserver v1.36
        staging/src/k8s.io/apiextensions-apiserver/pkg/apiserver/customresource_handler.go.
        """
        return "custom resource definition is terminating" in self.message


class NotFound(APIError):
    """404: the object, its namespace or the whole resource does not exist."""

    @property
    def advice(self) -> str:
        """For a missing kind of enbloc's: apply its CustomResourceDefinition."""
        if not self.resource_missing or API_GROUP not in self.resource:
            return str(self)
        return (
            f"the server does not serve {self.resource}: kubectl apply -f crds/ "
            "(enbloc then continues without a restart)"
        )


class Conflict(APIError):
    """409: the object is not in the state that the request assumes."""


class AlreadyExists(Conflict):
    """409 with reason AlreadyExists: an object of that name exists."""


class Forbidden(APIError):
    """403: the role of this process lacks the verb, or admission refused the request."""

    @property
    def advice(self) -> str:
        """For a missing permission: grant the verb."""
        if self.of_one_object:
            return str(self)
        return f'{self} (grant the verb "{self.verb}" on {self.resource})'


class Unauthorized(APIError):
    """401: the credentials were not accepted."""


class Invalid(APIError):
    """400, 415 or 422: the request itself is wrong."""


class TooManyRequests(APIError):
    """429: try again later, after a second if the server does not say when."""

    def __init__(self, *args: Any, retry_after: float = 1.0, **kwargs: Any) -> None:
        super().__init__(*args, retry_after=retry_after, **kwargs)


class Gone(APIError):
    """410: the resourceVersion or the continue token is too old."""


class ServerError(APIError):
    """5xx: the server failed; the request may have taken effect."""

    outcome_unknown = True


class Unreachable(APIError):
    """No usable answer: refused, reset, timed out, or not from an API server.

    Attributes:
        sent: whether the request may have reached the server.
    """

    def __init__(self, verb: str, resource: str, message: str, *, sent: bool) -> None:
        super().__init__(verb, resource, message)
        self.sent = sent

    @property
    def outcome_unknown(self) -> bool:  # type: ignore[override]  # depends on the instance here
        """Whether the request may have taken effect."""
        return self.sent

    @property
    def advice(self) -> str:
        """The same text for every request, so that it is reported once."""
        return f"the API server cannot be reached: {self.message}; retrying"


class TooLong(Unreachable):
    """The answer is longer than the limit, or has begun in time and not ended."""

    @property
    def advice(self) -> str:
        """The text with the request, because others may have shorter answers."""
        return f"{self}; retrying"


class Fenced(APIError):
    """The write was not sent, because this process may no longer hold its Lease."""


_BY_CODE: Final[Mapping[int, type[APIError]]] = {
    400: Invalid,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    409: Conflict,
    410: Gone,
    415: Invalid,
    422: Invalid,
}


def from_status(
    verb: str, resource: str, code: int, status: Mapping[str, Any], retry_after: float | None = None
) -> APIError:
    """The error for an HTTP code and a decoded Status (empty if the body has no Status).

    Args:
        verb: the API verb.
        resource: the resource as RBAC spells it.
        code: the HTTP status, or the Status' code in a watch's ERROR event.
        status: the Status object.
        retry_after: seconds from the Retry-After header, if there was one.
    """
    message = str(status.get("message") or "")[:MESSAGE_LENGTH]
    reason = str(status.get("reason") or "")[:MESSAGE_LENGTH]
    details = status.get("details")
    details = details if isinstance(details, dict) else {}
    if code == 429 or code >= 500:
        asked = _seconds(retry_after) or _seconds(details.get("retryAfterSeconds"))
        busy = code == 429
        return (TooManyRequests if busy else ServerError)(
            verb,
            resource,
            message,
            code=code,
            reason=reason,
            details=details,
            retry_after=asked or float(busy),
        )
    kind = _BY_CODE.get(code, APIError)
    if kind is Conflict and reason == "AlreadyExists":
        kind = AlreadyExists
    error = kind(verb, resource, message, code=code, reason=reason, details=details)
    if kind is Invalid and any(each.get("field") == "metadata.uid" for each in error.causes):
        kind = Conflict  # how the server refuses a PATCH of an object with another UID
        error = kind(verb, resource, message, code=code, reason=reason, details=details)
    return error


def _seconds(asked: object) -> float:
    """Seconds to wait; 0 if the value is not a number above 0."""
    if not isinstance(asked, int | float) or not asked > 0:  # `not >` also catches NaN
        return 0.0
    return float(min(asked, LONGEST_ASKED))


def readable(decode: Callable[[S], T], answer: S, verb: str, resource: str) -> T:
    """Decode the answer to a request that succeeded.

    Args:
        decode: decodes it; raises one of UNREADABLE.
        answer: the server's answer.
        verb: the API verb.
        resource: the resource as RBAC spells it.

    Raises:
        Unreachable: the answer is not an API server's, but a proxy's page or a truncated body; the
            request may have taken effect.
    """
    try:
        return decoded(decode, answer)
    except UNREADABLE as error:
        raise Unreachable(verb, resource, f"unreadable answer: {why(error)}", sent=True) from error
