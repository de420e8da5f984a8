"""`/api/v1`: the facts as JSON. `handlers` has its paths and their OpenAPI document, `tables` declares its lists."""
