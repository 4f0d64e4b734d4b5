// Keys go to the terminal from its first picture on, and a run is not stopped by a slip.
const body = document.body;
const says = (state) => body.classList.contains(state);

new MutationObserver((_, watch) => {
  if (says("-first-byte")) {
    watch.disconnect();
    document.querySelector(".xterm-helper-textarea").focus();
  }
}).observe(body, { attributeFilter: ["class"] });

if (!window.isSecureContext) {
  body.classList.add("-cannot-copy");
}

addEventListener("beforeunload", (event) => {
  if (body.dataset.runs && !says("-closed")) {
    event.preventDefault();
  }
});
