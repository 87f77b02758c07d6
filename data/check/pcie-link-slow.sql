-- SPDX-License-Identifier: MIT
-- id: pcie-link-slow
-- for: check
-- severity: warning
-- title: {device} ({class}) runs at PCIe generation {generation} of {possible}
-- why: The link trained below what card and slot can do, or has fallen back after errors.
-- fix: Reseat the card; in the BIOS set the slot's speed to automatic; lspci -vv -s {device} shows
--   LnkSta, and dmesg whether the link was retrained.
-- needs: pci/link_gen pci/link_gen_max
-- source: Linux Documentation/ABI/testing/sysfs-bus-pci
SELECT p.address AS "device @/sys/bus/pci", p.class AS "class", coalesce(g.pcie_gen, p.link_gen) AS "generation [count]",
       min(p.link_gen_max, coalesce(p.slot_gen_max, p.link_gen_max)) AS "possible [count]", p.link_rate AS "rate [bytes/s]", p.link_rate_slot AS "rate possible [bytes/s]"
FROM pci p LEFT JOIN gpu g ON g.pci = p.address
WHERE p.class IN ('gpu', 'infiniband', 'ethernet') AND max(p.link_gen, coalesce(g.pcie_gen, 0)) < min(p.link_gen_max, coalesce(p.slot_gen_max, p.link_gen_max))
  AND (p.class <> 'gpu' OR g.utilisation_nvml >= 0.3); -- an idle GPU lowers its link
