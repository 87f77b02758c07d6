-- absent: network-collective-slow
-- finding: warning rank-late
-- The other rank came late: its own recording says why.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'network', '10.7.0.2:29500', 3),
    ('wait', 'late-peer', 'rank 1', 47);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('env', 'WORLD_SIZE', 'value', '2', '');
