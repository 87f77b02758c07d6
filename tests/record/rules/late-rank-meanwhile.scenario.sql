-- finding: warning rank-late
-- first: rank-late
-- says: is late, and the other ranks wait for it; meanwhile it computed
-- says: (it computed while they waited)
-- Both compute the same, and what made rank 1 late is not known: that it computed then is no reason.
INSERT INTO ledger (state, cause, resource, seconds, accelerator) VALUES
    ('compute', NULL, NULL, 60, 0), ('wait', 'late-peer', 'vm:57510', 40, 0),
    ('compute', NULL, NULL, 61, 1), ('wait', 'unknown', NULL, 39, 1);
INSERT INTO fact (kind, subject, name, number, unit) VALUES ('late', '1', 'compute', 30, 's');
