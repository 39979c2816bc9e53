// SPDX-FileCopyrightText: 2026 The enbloc authors
// SPDX-License-Identifier: Apache-2.0
// Brings a page up to date when there is a new state, and loads explanations that are opened.
// Without it a page shows the state of when it was loaded, and explanations are pages.
"use strict";

(() => {
  /** Between two asks for an explanation that is being worked out, and how often it is asked. */
  const AGAIN_MS = 2000;
  const MOST_ASKS = 60;

  const parsed = async (address) => {
    const answer = await fetch(address, { headers: { Accept: "text/html" } });
    if (!answer.ok) throw new Error(String(answer.status));
    return new DOMParser().parseFromString(await answer.text(), "text/html");
  };

  /** Put the explanation into its details, however long it takes. */
  const load = async (details) => {
    if (details.dataset.loaded) return;
    details.dataset.loaded = "1";
    for (let ask = 0; ask < MOST_ASKS && details.isConnected; ask += 1) {
      let found = null;
      try {
        found = (await parsed(details.dataset.load)).getElementById("explanation");
      } catch {
        delete details.dataset.loaded; // the link in it still leads there
        return;
      }
      if (!found) return;
      const again = found.dataset.again !== undefined;
      found.removeAttribute("id");
      const summary = details.querySelector("summary"); // stays, and so does the focus
      while (summary.nextSibling) summary.nextSibling.remove();
      details.append(found);
      if (!again) return;
      await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  };

  // "toggle" does not bubble, so it is caught on its way down.
  document.addEventListener(
    "toggle",
    (event) => {
      const details = event.target;
      if (!details.dataset.load) return;
      if (details.open) load(details);
      else delete details.dataset.loaded; // opened again, it is asked for anew
    },
    true,
  );

  /** By what an element that has the focus is found again in a newer state. */
  const named = (each) =>
    each.getAttribute("href") || each.closest("[data-load]")?.dataset.load || each.getAttribute("role");

  /** Replace what is new; what is open, has the focus or is scrolled to stays so. */
  const renew = async () => {
    const fresh = await parsed(location.href);
    for (const old of document.querySelectorAll("[data-live][id]")) {
      const now = fresh.getElementById(old.id);
      if (!now || now.innerHTML === old.dataset.was) continue;
      const was = now.innerHTML;
      const focus = old.contains(document.activeElement) ? document.activeElement : null;
      const lefts = [...old.querySelectorAll(".scroll")].map((each) => each.scrollLeft);
      const opened = new Map();
      for (const each of old.querySelectorAll("details[open][data-load]")) {
        opened.set(each.dataset.load, each);
      }
      for (const each of now.querySelectorAll("details[data-load]")) {
        const kept = opened.get(each.dataset.load);
        if (kept) each.replaceWith(kept);
      }
      old.replaceChildren(...now.childNodes);
      old.dataset.was = was;
      [...old.querySelectorAll(".scroll")].forEach((each, at) => {
        each.scrollLeft = lefts[at] ?? 0;
      });
      if (!focus) continue;
      const alike = [...old.querySelectorAll(focus.localName)];
      const same = focus.isConnected ? focus : alike.find((each) => named(each) === named(focus));
      if (same) same.focus({ preventScroll: true });
    }
  };

  const news = document.body.dataset.events;
  if (!news || !window.EventSource) return;

  let shown = document.body.dataset.number;
  let told = shown;
  let paused = false;
  let busy = false;

  const follow = async () => {
    if (paused || busy || document.hidden || told === shown) return;
    busy = true;
    const number = told;
    try {
      await renew();
      shown = number;
    } catch {
      // The next state, or the next look at the page, tries again.
    } finally {
      busy = false;
    }
    if (told !== number) follow();
  };

  const button = document.createElement("button");
  button.type = "button";
  button.textContent = "Pause updates";
  button.addEventListener("click", () => {
    paused = !paused;
    button.textContent = paused ? "Go on updating" : "Pause updates";
    follow();
  });
  document.querySelector("header").append(button);

  document.addEventListener("visibilitychange", follow);
  const source = new EventSource(news);
  source.addEventListener("view", (event) => {
    told = event.data;
    follow();
  });
  addEventListener("pagehide", () => source.close());
})();
