-- Each step both ranks compute 15 ms, and rank 1 sleeps 20 ms before: while rank 0 waits it computes most of
-- the time, but it is its sleeping that makes it late.
-- finding: warning rank-late
-- first: rank-late
-- absent: job-sleeps
-- says: The rank on GPU 1 is late, and the other ranks wait for it: it slept for longer than the others
INSERT INTO ledger (state, cause, resource, seconds, accelerator) VALUES
    ('compute', NULL, NULL, 43, 0), ('wait', 'late-peer', 'vm:35818', 55, 0), ('wait', 'network', 'vm:35818', 2, 0),
    ('compute', NULL, NULL, 43, 1), ('wait', 'sleep', NULL, 55, 1), ('wait', 'network', 'vm:35637', 2, 1);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('late', '1', 'compute', 41, 's'), ('late', '1', 'sleep', 14, 's');
