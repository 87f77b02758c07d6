-- SPDX-License-Identifier: MIT
-- id: fuse-no-cache
-- for: check
-- severity: warning
-- title: {program} at {point} keeps no copy of what it reads ({_lacks})
-- why: Each epoch reads all data from the object store anew.
-- fix: {_fix}
-- needs: data/named mount/fstype mount/daemon
-- source: {_source}
SELECT t.program AS "program", p.point AS "point", c.text AS "command @/proc/PID/cmdline", t.lacks AS "_lacks", t.fix AS "_fix", t.source AS "_source"
FROM data_place p
JOIN fact c ON c.kind = 'mount' AND c.subject = p.point AND c.name = 'daemon'
JOIN (SELECT 'fuse.s3fs' AS fstype, 's3fs' AS program, '%use_cache=%' AS has, 'no -o use_cache' AS lacks, 'Mount it with -o use_cache=/mnt/nvme/s3fs,ensure_diskfree=10240, or copy the data to local NVMe.' AS fix, 's3fs-fuse man page (use_cache)' AS source
      UNION ALL SELECT 'fuse.rclone', 'rclone mount', '%--vfs-cache-mode full%', 'no --vfs-cache-mode full', 'Mount it with --vfs-cache-mode full --cache-dir /mnt/nvme/rclone --vfs-cache-max-age 1000h, or copy the data to local NVMe.', 'rclone.org/commands/rclone_mount (VFS file caching)'
      UNION ALL SELECT 'fuse.mountpoint-s3', 'mount-s3', '%--cache %', 'no --cache', 'Mount it with --cache /mnt/nvme/s3, or copy the data to local NVMe.', 'github.com/awslabs/mountpoint-s3/blob/main/doc/CONFIGURATION.md (caching)'
      UNION ALL SELECT 'fuse.gcsfuse', 'gcsfuse', '%cache-dir%', 'no --cache-dir', 'Mount it with --cache-dir /mnt/nvme/gcsfuse and --file-cache-max-size-mb, or copy the data to local NVMe.', 'cloud.google.com/storage/docs/cloud-storage-fuse/file-caching'
      UNION ALL SELECT 'fuse.goofys', 'goofys', '%--cache%', 'it has none', 'Copy the data to local NVMe; goofys is no longer maintained.', 'github.com/kahing/goofys') t
  ON t.fstype = p.fstype AND c.text || ' ' NOT LIKE t.has AND c.text NOT LIKE '%config%';
