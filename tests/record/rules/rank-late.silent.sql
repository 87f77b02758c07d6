-- absent: rank-late
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 92), ('wait', 'late-peer', 'vm:57510', 5), ('wait', 'host', NULL, 3);
