-- finding: warning nccl-versions-mixed
-- says: 2.21.5+cuda12.4, 2.27.3+cuda12.9
INSERT INTO fact (kind, subject, name, number, text) VALUES
    ('nccl', '', 'versions', 2, NULL),
    ('nccl', '', 'version', NULL, '2.21.5+cuda12.4, 2.27.3+cuda12.9'),
    ('nccl', '', 'library', NULL, 'NCCL');
