-- finding: info startup-long
-- absent: healthy
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 82), ('wait', 'startup', NULL, 18);
