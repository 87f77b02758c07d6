-- finding: warning network-collective-slow
-- first: network-collective-slow
-- says: at 10.7.0.2:29500
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 50), ('wait', 'network', '10.7.0.2:29500', 40),
    ('wait', 'late-peer', 'rank 1', 10);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('env', 'WORLD_SIZE', 'value', '2', '');
