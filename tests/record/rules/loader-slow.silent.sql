-- absent: loader-slow
-- finding: warning loader-no-workers
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'prepare', 'the DataLoader in the training thread', 40);
INSERT INTO fact (kind, subject, name, text, unit) VALUES ('trace', '1', 'tool', 'PyTorch profiler', '');
INSERT INTO fact (kind, subject, name, number, unit) VALUES ('loader', '', 'in_main', 1, '1');
