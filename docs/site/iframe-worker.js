// Browsers start no workers from file://. The search of the site then runs in a hidden frame instead. The name of this
// file tells Zensical that it need not load another one from a CDN.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    onmessage = null;
    onerror = null;
    #early = [];
    #frame = document.createElement("iframe");

    constructor(address) {
      super();
      this.#frame.hidden = true;
      this.#frame.title = "search";
      document.body.append(this.#frame);
      const inside = this.#frame.contentWindow;
      inside.postMessage = (data) => setTimeout(() => this.#deliver(data));
      const script = inside.document.createElement("script");
      script.src = address;
      script.onload = () => {
        for (const data of this.#early.splice(0)) this.#send(data);
        this.#early = null;
      };
      script.onerror = () => this.onerror?.(new ErrorEvent("error"));
      inside.document.body.append(script);
    }

    postMessage(data) {
      if (this.#early) this.#early.push(data);
      else this.#send(data);
    }

    terminate() {
      this.#frame.remove();
    }

    #send(data) {
      const inside = this.#frame.contentWindow;
      setTimeout(() => inside?.dispatchEvent(new MessageEvent("message", { data })));
    }

    #deliver(data) {
      const event = new MessageEvent("message", { data });
      this.onmessage?.(event);
      this.dispatchEvent(event);
    }
  };
}
