-- first: healthy
-- absent: memory-reclaim
-- Swap is in use, but nobody waits for it.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 96), ('wait', 'memory', NULL, 4);
INSERT INTO fact (kind, name, number, unit) VALUES ('memory', 'swap_in_rate', 1e6, 'bytes/s');
