"""`rocketns access suggest`: from the refusals in journals to a policy that allows them."""
