"""`rocketns access`: what a policy of access control allows, and why; the policy that a journal's refusals suggest."""
