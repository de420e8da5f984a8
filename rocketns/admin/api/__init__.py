"""``/api/v1``: what the name server knows, as JSON. `tables` declares what there is; `openapi` describes it."""
