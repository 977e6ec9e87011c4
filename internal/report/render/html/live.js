"use strict";
(function () {
  var tag = "", failures = 0;
  var main = function () { return document.querySelector("main"); };

  // What the reader has opened or hidden stays so.
  function keep(page) {
    document.querySelectorAll("details[open]").forEach(function (d) {
      var own = d.closest("section").getAttribute("aria-labelledby");
      var same = page.querySelector("section[aria-labelledby='" + own + "'] details");
      if (same) { same.open = true; }
    });
    return Array.from(document.querySelectorAll("[data-toggle][aria-pressed='false']"), function (b) {
      return [b.dataset.plot, b.dataset.toggle];
    });
  }

  function replace(page) {
    var hidden = keep(page), focus = document.activeElement && document.activeElement.dataset;
    var focused = focus && focus.toggle ? [focus.plot, focus.toggle] : null;
    document.title = page.title;
    ["header", "main", "footer"].forEach(function (name) {
      document.querySelector(name).replaceWith(document.importNode(page.querySelector(name), true));
    });
    document.dispatchEvent(new Event("replaced"));
    document.querySelectorAll("[data-toggle]").forEach(function (b) {
      var is = function (other) { return other[0] === b.dataset.plot && other[1] === b.dataset.toggle; };
      if (hidden.some(is)) { b.click(); }
      if (focused && is(focused)) { b.focus(); }
    });
  }

  function show(page) {
    var running = page.querySelector("main[data-live]");
    // A plot that the reader points at does not change below the pointer.
    if (running && !document.getElementById("tip").hidden) { tag = ""; return; }
    replace(page);
  }

  function lost(yes) {
    var note = document.getElementById("lost");
    if (note) { note.hidden = !yes; }
  }

  function read() {
    fetch("/", { headers: tag ? { "If-None-Match": tag } : {}, cache: "no-store" }).then(function (answer) {
      if (answer.status === 304) { return null; }
      if (!answer.ok) { throw new Error(answer.statusText); }
      tag = answer.headers.get("ETag") || "";
      return answer.text();
    }).then(function (text) {
      failures = 0;
      lost(false);
      if (text !== null) { show(new DOMParser().parseFromString(text, "text/html")); }
    }).catch(function () {
      failures++;
      if (failures > 1) { lost(true); }
    }).then(function () {
      if (main().hasAttribute("data-live") && failures < 60) { setTimeout(read, 1000); }
    });
  }

  setTimeout(read, 1000);
})();
