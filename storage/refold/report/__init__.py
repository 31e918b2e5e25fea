"""The report on a store: what it holds, what it cost, what is wrong and what is due, on one page."""
