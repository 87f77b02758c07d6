-- finding: warning loader-no-workers
-- finding: info storage-remote-live-read
-- first: loader-no-workers
-- says: num_workers=2
-- says: Try more, too: while the one reader waited for store:80, bytes came for 58 % of the time
-- Large answers to one reader: at the speed at which they came the line feeds two.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 10), ('wait', 'storage', 'store:80', 72), ('wait', 'host', NULL, 18);
INSERT INTO fact (kind, subject, name, number) VALUES
    ('loader', '', 'in_main', 1), ('job', '', 'cores_spare', 1.1),
    ('storage', 'store:80', 'in_flight', 0.8), ('storage', 'store:80', 'mean_read_ms', 0.6),
    ('storage', 'store:80', 'transfer_share', 0.58);
