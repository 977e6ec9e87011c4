function make_request(response_header, response_payload, request_headers_to_send, request_payload_to_send)
  request_headers_to_send[":path"] = "/callbacks/" .. (response_header[":status"] or "none")
  return request_headers_to_send, request_payload_to_send
end
function validate_response(response_header, response_payload)
  return response_header[":status"] == "204"
end
