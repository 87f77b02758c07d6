-- Rank 1 has twice the work: what makes it late is that it computes.
-- finding: warning rank-late
-- first: rank-late
-- says: The rank on GPU 1 is late, and the other ranks wait for it: it computed for longer than the others
INSERT INTO ledger (state, cause, resource, seconds, accelerator) VALUES
    ('compute', NULL, NULL, 45, 0), ('wait', 'late-peer', 'vm:35818', 45, 0), ('wait', 'sleep', NULL, 5, 0),
    ('wait', 'network', 'vm:35818', 5, 0),
    ('compute', NULL, NULL, 90, 1), ('wait', 'sleep', NULL, 5, 1), ('wait', 'network', 'vm:35637', 5, 1);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('late', '1', 'compute', 40, 's'), ('late', '1', 'sleep', 5, 's');
