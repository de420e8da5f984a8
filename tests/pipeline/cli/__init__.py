"""The words of ``rocketns audit``, and the page that explains them."""
