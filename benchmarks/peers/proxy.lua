-- For wrk: posts a completion's request, and prints the figures as one line of JSON.
-- Arguments behind "--": "stream" asks for a stream of events.
function init(args)
  wrk.method = "POST"
  wrk.headers["Content-Type"] = "application/json"
  wrk.body = '{"model": "stub", "prompt": "Two and two is", "max_tokens": 1, "stream": ' ..
             (args[1] == "stream" and "true" or "false") .. "}"
end

function done(summary, latency, requests)
  local bad = summary.errors.status + summary.errors.connect + summary.errors.read +
              summary.errors.write + summary.errors.timeout
  io.write(string.format('{"requests": %d, "seconds": %f, "p50_us": %f, "p99_us": %f, "failed": %d}\n',
                         summary.requests, summary.duration / 1e6, latency:percentile(50), latency:percentile(99), bad))
end
