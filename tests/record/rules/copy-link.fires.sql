-- finding: warning copy-link
-- first: copy-link
-- says: at 27.7 GB/s of about 52 that PCIe 5.0 x16 carries
-- says: 2 GPUs copy at once, together 55.4 GB/s, as much as one PCIe 5.0 x16 link carries
-- says: nvidia-smi topo -m
INSERT INTO ledger (state, cause, resource, seconds, accelerator) VALUES
    ('compute', NULL, NULL, 1, 0), ('copy', 'link', NULL, 9, 0),
    ('compute', NULL, NULL, 1, 1), ('copy', 'link', NULL, 9, 1);
INSERT INTO fact (kind, subject, name, number, text, unit) VALUES
    ('copy', '0', 'large_bytes', 249.3e9, NULL, 'bytes'), ('copy', '0', 'large_seconds', 9, NULL, 's'),
    ('copy', '1', 'large_bytes', 249.3e9, NULL, 'bytes'), ('copy', '1', 'large_seconds', 9, NULL, 's'),
    ('copy', '0', 'link_rate', 52e9, NULL, 'bytes/s'), ('copy', '0', 'link', NULL, 'PCIe 5.0 x16', ''),
    ('copy', '1', 'link_rate', 52e9, NULL, 'bytes/s'), ('copy', '1', 'link', NULL, 'PCIe 5.0 x16', '');
