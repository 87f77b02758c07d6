-- finding: warning storage-remote-live-read
-- absent: loader-no-workers
-- Nothing is known of the loader.
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 45), ('wait', 'storage', 'fuse:slowfs /data', 40),
    ('wait', 'host', NULL, 15);
INSERT INTO fact (kind, name, number) VALUES ('job', 'cores_spare', 7);
