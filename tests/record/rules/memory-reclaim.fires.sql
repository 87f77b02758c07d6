-- finding: warning memory-reclaim
-- first: memory-reclaim
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 80), ('wait', 'memory', NULL, 15), ('wait', 'host', NULL, 5);
INSERT INTO fact (kind, name, number, unit) VALUES ('memory', 'swap_in_rate', 1e6, 'bytes/s');
