-- SPDX-License-Identifier: MIT
-- id: pcie-acs
-- for: check
-- severity: warning
-- title: Access control ({controls}) on {n} PCIe switch ports sends traffic between GPU and NIC up to
--   the CPU
-- why: With request or completion redirection, devices below one switch no longer talk to each other
--   directly: GPUDirect RDMA and P2P lose half their bandwidth or hang.
-- fix: On bare metal: setpci -s {bridge} ECAP_ACS+0x6.w=0 for each (at every boot), or turn ACS off in
--   the BIOS. In a virtual machine use ATS instead.
-- needs: pci/acs
-- source: NCCL user guide, Troubleshooting: PCI access control services; PCI Express 6.0, 7.7.11
SELECT count(DISTINCT b.address) AS "n [count] @/sys/bus/pci", min(b.address) AS "bridge", max(b.acs_controls) AS "controls @config", group_concat(DISTINCT d.address) AS "devices below"
FROM pci b JOIN pci d ON d.parent = b.address AND d.class IN ('gpu', 'infiniband', 'ethernet')
WHERE b.class = 'bridge' AND b.parent IS NOT NULL AND b.acs = 1
GROUP BY b.class HAVING count(DISTINCT d.address) >= 2;
