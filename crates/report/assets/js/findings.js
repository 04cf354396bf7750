// Rust writes the findings; their links show the rows behind a claim.

import { ROWS_OF } from "./model/data.js";
import { showRows } from "./table/table.js";

export function showClaim(event) {
  const link = event.target.closest("a[data-rows]");
  if (!link) return;
  event.preventDefault();
  const rows = ROWS_OF[Number(link.dataset.run)] ?? [];
  const chosen = link.dataset.rows.split(" ").map((index) => rows[Number(index)]);
  showRows(chosen.filter(Boolean), link.dataset.claim);
}
