// SPDX-License-Identifier: Apache-2.0
#include "support/ok.hpp"

#include <cubinet/transport/aws_signer.hpp>

using namespace cubinet;
using test::ok;

namespace {

constexpr std::time_t kTime = 1440938160;  // 20150830T123600Z, as in AWS's published vectors

AwsCredentials example(const std::string& token = {}) {
  return {"AKIDEXAMPLE", "wJalrXUtnFEMI/K7MDENG+bPxRfiCYEXAMPLEKEY", token};
}

}  // namespace

TEST_CASE("a signature is the one of the published vector") {
  // get-vanilla of aws-sig-v4-test-suite.
  const AwsRequest request{HttpMethod::get,
                           ok(Url::parse("https://example.amazonaws.com/")),
                           {{"X-Amz-Date", "20150830T123600Z"}},
                           sha256({}).to_hex()};
  CHECK(aws_authorization(request, example(), "us-east-1", "service", "20150830T123600Z") ==
        "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/us-east-1/service/aws4_request, "
        "SignedHeaders=host;x-amz-date, "
        "Signature=5fa00fa31553b73ebf1942676e86291e8372ff2a2260956d9b8aae1d763fbf31");
}

TEST_CASE("requests for S3 are signed as botocore signs them") {
  struct Row {
    HttpMethod method;
    const char *url, *token, *body, *signature;
  };
  // Computed by botocore.auth.S3SigV4Auth 1.43.11 for that time, with the body signed.
  for (const Row& row :
       {Row{HttpMethod::get, "https://bucket.s3.eu-west-1.amazonaws.com/prefix/blobs/sha256/aa", "", "",
            "c319cbaca58b52b42c710328e42e359d1b15c8a0a3571ea8dd716bf2027b568b"},
        Row{HttpMethod::put, "https://bucket.s3.eu-west-1.amazonaws.com/prefix/blobs/sha256/aa",
            "TOKEN//x==", "hello", "f39a58a207b963f15ecf0aa81fee33cfffbfdeb72ce03003dd1bd307cbaeeafc"},
        Row{HttpMethod::head, "http://127.0.0.1:9000/bucket/a%20b%2Bc/%C3%A9~x", "", "",
            "6d167886f96257093bf6ca7b75e5c5749cd810a734264e26368531bad3a288bf"},
        Row{HttpMethod::get,
            "https://bucket.s3.eu-west-1.amazonaws.com/?prefix=a%2Fb&list-type=2&delimiter=&a-b=1&a=2", "",
            "", "608f643bbe59a019cbf076a206f67baf1801bccaadc999ab25065c5c552cb083"},
        Row{HttpMethod::get, "https://bucket.s3.eu-west-1.amazonaws.com/?uploads&b=1&b=0", "", "",
            "67eb9cf5695c3aa02a2583193e0449911e488319b12c86a8d7fb84d1aea75b0c"}}) {
    CAPTURE(row.url);
    S3Signer signer([&] { return Result<AwsCredentials>(example(row.token)); }, "eu-west-1",
                    [] { return kTime; });
    HttpRequest request{row.method, ok(Url::parse(row.url))};
    MemorySource source(as_bytes(row.body));
    if (row.method == HttpMethod::put) request.body = &source;
    HttpHeaders headers = ok(signer.headers(request));
    const std::string names = *row.token == '\0' ? "" : ";x-amz-security-token";
    CHECK(*find_header(headers, "Authorization") ==
          "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/20150830/eu-west-1/s3/aws4_request, SignedHeaders="
          "host;x-amz-content-sha256;x-amz-date" +
              names + ", Signature=" + row.signature);
    CHECK(*find_header(headers, "x-amz-content-sha256") == sha256(as_bytes(row.body)).to_hex());
    CHECK((find_header(headers, "x-amz-security-token") != nullptr) == (*row.token != '\0'));
    // If the caller knows the digest, it is not computed again.
    request.body_digest = sha256(as_bytes(row.body));
    CHECK(find_header(ok(signer.headers(request)), "Authorization")->ends_with(row.signature));
  }
}

TEST_CASE("runs of spaces in a header count as one") {
  const auto sign = [](const char* value) {
    return aws_authorization({HttpMethod::get, ok(Url::parse("https://h/")), {{"X-Amz-Meta", value}}, ""},
                             example(), "r", "s", "20150830T123600Z");
  };
  CHECK(sign("  a   b ") == sign("a b"));
  CHECK(sign("a b") != sign("ab"));
}

TEST_CASE("credentials that cannot be had are the error of the request") {
  S3Signer signer([] { return Result<AwsCredentials>(Error{ErrorCode::unavailable, "nobody knows"}); }, "r");
  CHECK_FALSE(signer.headers(HttpRequest{HttpMethod::get, ok(Url::parse("https://h/"))}));
}
