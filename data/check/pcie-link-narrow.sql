-- SPDX-License-Identifier: MIT
-- id: pcie-link-narrow
-- for: check
-- severity: warning
-- title: {device} ({class}) runs on {lanes} of {lanes_possible} PCIe lanes
-- why: A link that trained with fewer lanes than card and slot have carries that much less; copies and
--   network traffic share it.
-- fix: Reseat the card, look for bent pins or a slot of fewer lanes, and in the BIOS for bifurcation;
--   lspci -vv -s {device} shows LnkSta.
-- needs: pci/link_width pci/link_width_max
-- source: Linux Documentation/ABI/testing/sysfs-bus-pci; stas00/ml-engineering, network
SELECT address AS "device @/sys/bus/pci", class AS "class", link_width AS "lanes [count]", min(link_width_max, coalesce(slot_width_max, link_width_max)) AS "lanes possible [count]",
       link_rate AS "rate [bytes/s]", link_rate_slot AS "rate possible [bytes/s]"
FROM pci WHERE class IN ('gpu', 'infiniband', 'ethernet') AND link_width < min(link_width_max, coalesce(slot_width_max, link_width_max));
