-- finding: warning collective-exposed
-- first: collective-exposed
-- says: mostly in allreduce of BFloat16 over 8 ranks
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 30), ('comm', 'collective', NULL, 64), ('wait', 'launch', NULL, 6);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('collective', 'allreduce of BFloat16 over 8 ranks', 'seconds', 70, 's'),
    ('collective', 'allreduce of BFloat16 over 8 ranks', 'bytes', 1e9, 'bytes'),
    ('collective', 'broadcast of Float over 8 ranks', 'seconds', 3, 's');
