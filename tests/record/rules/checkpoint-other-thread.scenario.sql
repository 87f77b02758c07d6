-- finding: warning checkpoint-blocking
-- first: checkpoint-blocking
-- says: Another thread writes and syncs the files
-- says: writing takes longer than the time between two saves
-- A thread in the background writes, and the training thread waits for it.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 60), ('wait', 'checkpoint', 'disk sda (/out)', 40);
INSERT INTO fact (kind, subject, name, number, unit) VALUES
    ('checkpoint', 'disk sda (/out)', 'seconds', 90, 's'), ('checkpoint', 'disk sda (/out)', 'own_seconds', 0, 's');
