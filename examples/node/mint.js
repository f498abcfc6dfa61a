#!/usr/bin/env node
// mint.js N: N names from opmint, one a line.
const http = require('node:http');

function mint(count) {
  const socketPath = process.env.OPMINT_SOCKET || '/run/opmint/opmint.sock';
  return new Promise((resolve, reject) => {
    http.request({ socketPath, host: 'opmint', method: 'POST', path: `/v1/names?count=${count}` }, (answer) => {
      let text = '';
      answer.on('data', (part) => { text += part; });
      answer.on('error', reject); // it broke off
      answer.on('end', () => {
        const body = JSON.parse(text);
        if (answer.statusCode === 201) resolve(body.names);
        else reject(new Error(body.detail));
      });
    }).on('error', reject).end();
  });
}

mint(process.argv[2]).then(
  (names) => names.forEach((name) => console.log(name)),
  (error) => { console.error(error.message); process.exitCode = 1; },
);
