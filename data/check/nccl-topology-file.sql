-- SPDX-License-Identifier: MIT
-- id: nccl-topology-file
-- for: check
-- severity: warning
-- title: {_what}
-- why: In a virtual machine the PCIe tree that NCCL sees is not the real one: without the file it does
--   not know which NIC is near which GPU, and uses few channels over far ones.
-- fix: Mount /opt/microsoft and /etc/nccl.conf into the container, or set NCCL_TOPO_FILE to the file
--   of this machine (ND A100 v4: /opt/microsoft/ndv4/topo.xml; ND H100 v5:
--   /opt/microsoft/ndv5/topo.xml).
-- needs: topology_file/named|vm/size env/value|nccl_conf/files
-- source: Azure/azhpc-images: ndv4 and ndv5 topology; NCCL user guide, NCCL_TOPO_FILE
SELECT 'NCCL_TOPO_FILE names ' || n.subject || ', which the job does not see' AS "_what", n.subject AS "file @setting", NULL AS "size"
FROM fact n JOIN fact x ON x.kind = n.kind AND x.subject = n.subject AND x.name = 'exists' AND x.number = 0
WHERE n.kind = 'topology_file' AND n.name = 'named'
UNION ALL
SELECT 'No NCCL_TOPO_FILE is set on a ' || v.text, (SELECT min(subject) FROM fact WHERE kind = 'topology_file' AND name = 'exists' AND number = 1), v.text
FROM fact v WHERE v.kind = 'vm' AND v.name = 'size' AND v.text LIKE 'Standard\_ND96%' ESCAPE '\'
  AND EXISTS (SELECT 1 FROM fact WHERE kind = 'job' AND name = 'command')
  AND (EXISTS (SELECT 1 FROM setting WHERE variable = 'WORLD_SIZE' AND CAST(value AS INTEGER) > 8) OR EXISTS (SELECT 1 FROM nccl_host))
  AND NOT EXISTS (SELECT 1 FROM setting WHERE variable = 'NCCL_TOPO_FILE')
  AND NOT EXISTS (SELECT 1 FROM fact WHERE kind = 'topology_file' AND subject LIKE '/var/run/%' AND name = 'exists');
