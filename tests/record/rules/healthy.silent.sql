-- absent: healthy
-- Half of the time nobody looked.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 85), ('unseen', 'unknown', NULL, 15);
