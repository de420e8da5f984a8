"""The remark of a refusal. It says what to do, and nothing of the policy that the peer does not know."""

from __future__ import annotations

from rocketns.access.asked import Asked
from rocketns.access.decision import Reason

WHY = {
    Reason.NO_EVIDENCE: "the request is not signed, and nothing else says who sent it",
    Reason.UNKNOWN_KEY: "its access key is not known here",
    Reason.WRONG_SIGNATURE: "its signature is wrong: the secret key is another one, or the request was changed",
    Reason.KEY_ALONE: "its signature is right, and not enough from this address, or without a certificate",
    Reason.NO_CLASS: "nobody may send this request code",
    Reason.NOT_GRANTED: "{who} may not send requests of this class",
    Reason.NAMESPACE: "{who} may not use this namespace",
    Reason.BROKER_NAME: "{who} may not register a broker of this name",
    Reason.BROKER_ADDRESS: "{who} may not register this address",
    Reason.NOT_THE_PEER: "{who} may only register the address from which the request comes",
    Reason.RATE: "{who} sends more requests in a second than the policy allows",
    Reason.TAKEOVER: "another live broker has this name and id, and {who} does not own the group",
}


def remark(asked: Asked, reason: Reason, principal: str | None) -> str:
    """For the answer, and for people who read it in the log of a client."""
    why = WHY[reason].format(who=principal or "the sender")
    return f"no permission for request code {asked.code}, class {asked.access}: {why}. Ask who runs this name server"
