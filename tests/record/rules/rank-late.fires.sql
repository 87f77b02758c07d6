-- finding: warning rank-late
-- first: rank-late
-- absent: service-idle
-- says: The rank on GPU 1 is late, and the other ranks wait for it: it slept for longer than the others
INSERT INTO ledger (state, cause, resource, seconds, accelerator) VALUES
    ('compute', NULL, NULL, 60, 0), ('wait', 'late-peer', 'vm:57510', 35, 0), ('wait', 'network', 'vm:57510', 5, 0),
    ('compute', NULL, NULL, 60, 1), ('wait', 'sleep', NULL, 35, 1), ('wait', 'network', 'vm:43689', 5, 1);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('late', '1', 'sleep', 30, 's'), ('late', '1', 'host', 5, 's'), ('late', '0', 'host', 1, 's');
