"""What a person sees on a terminal: answers to queries, an explained rebalance, groups as they change."""
