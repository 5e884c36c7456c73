// Browsers refuse workers of pages that are opened from a folder: there, search runs in a hidden frame.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(url) {
      super()
      this.frame = document.createElement("iframe")
      this.frame.hidden = true
      document.body.appendChild(this.frame)
      const inside = this.frame.contentWindow
      const load = source => new Promise((done, failed) => {
        const script = inside.document.createElement("script")
        Object.assign(script, { src: new URL(source, location), onload: done, onerror: failed })
        inside.document.head.appendChild(script)
      })
      // what a worker calls: answers become events of this object, more scripts are loaded one by one
      inside.postMessage = data => this.answer(new MessageEvent("message", { data }))
      inside.importScripts = (...sources) => sources.reduce((last, one) => last.then(() => load(one)), Promise.resolve())
      this.ready = load(url)
    }
    answer(event) {
      this.dispatchEvent(event)
      if (this.onmessage) this.onmessage(event)
    }
    postMessage(data) {
      const inside = this.frame.contentWindow
      this.ready.then(() => inside.dispatchEvent(new inside.MessageEvent("message", { data })))
    }
    terminate() {
      this.frame.remove()
    }
  }
}
