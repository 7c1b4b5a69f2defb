#pragma once

#include <string>
#include <vector>

#include "nereus/base/result.h"
#include "nereus/http/client.h"
#include "nereus/http/exchange.h"
#include "nereus/serving/bucket.h"

namespace nereus::serving {

/// Serves a bucket to readers that do not share its folder: GET /bucket gives {"versions": [..]}, and
/// GET /bucket/policy-v7/FILE a file that the version's manifest lists, or the manifest. All else is 404.
http::Task<> serve_bucket(const Bucket& bucket, http::Exchange& exchange);

/// Where a bucket is served.
struct RemoteBucket {
  http::Url url;
  std::string token;
};

/// The versions there, oldest first.
http::Task<Result<std::vector<int64_t>>> remote_versions(http::Client& client, RemoteBucket remote);

/// Copies a version into a local bucket, checked against its manifest; nothing where it is there already.
/// Tries again, three times in all.
http::Task<Result<Manifest>> fetch_version(http::Loop& loop, http::Client& client, RemoteBucket remote,
                                           int64_t version, Bucket& into);

}  // namespace nereus::serving
