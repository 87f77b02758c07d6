-- finding: warning checkpoint-blocking
-- first: checkpoint-blocking
-- says: writes and syncs the files itself
-- One thread launches on four devices, all of which stand still while it writes.
INSERT INTO ledger (state, cause, resource, seconds, accelerator) VALUES
    ('compute', NULL, NULL, 60, 0), ('wait', 'checkpoint', 'disk sda (/out)', 40, 0),
    ('compute', NULL, NULL, 60, 1), ('wait', 'checkpoint', 'disk sda (/out)', 40, 1),
    ('compute', NULL, NULL, 60, 2), ('wait', 'checkpoint', 'disk sda (/out)', 40, 2),
    ('compute', NULL, NULL, 60, 3), ('wait', 'checkpoint', 'disk sda (/out)', 40, 3);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('checkpoint', 'disk sda (/out)', 'seconds', 40, 's'), ('checkpoint', 'disk sda (/out)', 'own_seconds', 40, 's');
