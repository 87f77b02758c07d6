-- Storage and decode, two parts to one: one loader, one finding.
-- finding: warning storage-remote-live-read
-- finding: info prepare-cpu-bound
-- first: storage-remote-live-read
INSERT INTO ledger (state, cause, resource, seconds) VALUES
    ('compute', NULL, NULL, 40), ('wait', 'storage', 'fuse:slowfs /data', 40),
    ('wait', 'prepare', NULL, 20);
INSERT INTO fact (kind, name, number) VALUES ('loader', 'workers', 2), ('job', 'cores_spare', 0.8);
