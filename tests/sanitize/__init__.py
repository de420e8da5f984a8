"""The compiled parts under AddressSanitizer, UndefinedBehaviorSanitizer and ThreadSanitizer: ``make sanitize``."""
