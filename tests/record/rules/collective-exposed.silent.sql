-- absent: collective-exposed
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 85), ('comm', 'collective', NULL, 7), ('wait', 'collective', NULL, 7);
INSERT INTO fact (kind, subject, name, number, unit) VALUES ('collective', 'allreduce', 'seconds', 60, 's');
