// SPDX-License-Identifier: Apache-2.0
// Sorts and filters the tables. The page is complete without it. Names in the page are data: they are
// only compared, and no markup is made of them.
"use strict";
(() => {
  const fewestRowsToFilter = 8;

  const keyOf = (row, column) => {
    const cell = row.cells[column];
    return cell.dataset.sort === undefined ? cell.textContent : Number(cell.dataset.sort);
  };

  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en", {numeric: true});

  const sortBy = (table, column) => {
    const headers = [...table.tHead.rows[0].cells];
    const descending = headers[column].getAttribute("aria-sort") === "ascending" ? -1 : 1;
    headers.forEach((header) => header.removeAttribute("aria-sort"));
    headers[column].setAttribute("aria-sort", descending === 1 ? "ascending" : "descending");
    const body = table.tBodies[0];
    const rows = [...body.rows].map((row) => [keyOf(row, column), row]);
    rows.sort((a, b) => descending * compare(a[0], b[0]));
    body.append(...rows.map(([, row]) => row));
  };

  const makeSortable = (table) => {
    table.classList.add("sortable");
    [...table.tHead.rows[0].cells].forEach((header, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.append(...header.childNodes);
      button.addEventListener("click", () => sortBy(table, column));
      header.append(button);
    });
  };

  const makeFilterable = (table) => {
    const rows = [...table.tBodies[0].rows];
    if (rows.length < fewestRowsToFilter) return;
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const label = document.createElement("label");
    const input = document.createElement("input");
    const count = document.createElement("span");
    label.className = "filter";
    input.type = "search";
    input.placeholder = "Filter rows: words that all occur";
    input.setAttribute("aria-label", "Filter: " + table.parentElement.getAttribute("aria-label"));
    count.setAttribute("role", "status");
    const apply = () => {
      const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
      let shown = 0;
      rows.forEach((row, i) => {
        row.hidden = !words.every((word) => texts[i].includes(word));
        shown += row.hidden ? 0 : 1;
      });
      count.textContent = `${shown} of ${rows.length}`;
    };
    input.addEventListener("input", apply);
    label.append(input, count);
    table.parentElement.before(label);
    apply();
  };

  document.querySelectorAll("table.data").forEach((table) => {
    makeSortable(table);
    makeFilterable(table);
  });
})();
